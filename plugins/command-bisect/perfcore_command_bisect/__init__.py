"""Which version made a change: bisection under noise, and what it needs to begin, to go on and to be sure."""
