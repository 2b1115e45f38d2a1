"""What budgets of JSON texts know (budget.py has the matchers): masks near the end, and how soon that can be."""
