"""Who is late, as a verdict, a ranking and a heat map."""
