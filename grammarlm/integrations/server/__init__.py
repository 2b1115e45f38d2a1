"""An HTTP server for one model on one machine, with OpenAI's interface, over the live loop of agenerate()."""
