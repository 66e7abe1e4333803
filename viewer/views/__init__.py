"""View models: (session, selection, window, pixels) -> plain arrays, texts and images to draw. No Qt."""
