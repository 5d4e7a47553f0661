package lasting

import "testing"

// TestLasting does not end.
func TestLasting(t *testing.T) { <-t.Context().Done() }
