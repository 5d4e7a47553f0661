package unbuilt

import "testing"

func TestUnbuilt(t *testing.T) { undefined() }
