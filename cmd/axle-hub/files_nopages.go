//go:build nopages

package main

import "github.com/axle-cd/axle/hub"

// embed hands over nothing: the hub reports that it was built without pages.
func embed(*hub.Config) {}
