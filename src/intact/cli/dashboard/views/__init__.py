"""What each view of the page shows, as values for its template: one module per view."""
