//go:build !nopages

package main

import (
	"github.com/axle-cd/axle/docs/site"
	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/web"
)

// embed hands the console, its style sheet for the login, and the documentation to the hub.
// Tests build most of their hubs with the tag nopages, so that a change of a style changes
// none of them.
func embed(c *hub.Config) { c.Console, c.Tokens, c.Docs = web.Console(), web.Tokens, site.Pages() }
