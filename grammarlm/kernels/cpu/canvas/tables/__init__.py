"""What tokens do to states, and the edges that say so."""
