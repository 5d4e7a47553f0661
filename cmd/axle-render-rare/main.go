// Command axle-render-rare is axle-render with all renderers: besides the usual ones
// Jsonnet, CUE and WebAssembly, and CEL for health rules. The agent starts it for
// services that use one of them and for such rules, because linking them slows down
// every start. People do not run it: they use axle-agent render DIR and axle-agent
// health --cel FILE.
package main

import (
	"fmt"
	"os"
	// The child opens no files, time zones included.
	_ "time/tzdata"

	"github.com/axle-cd/axle/render"
	"github.com/axle-cd/axle/render/rare"
)

func main() {
	if err := render.Confine(); err != nil {
		fmt.Fprintln(os.Stderr, "axle-render-rare:", err)
		os.Exit(3)
	}
	if err := render.Serve(os.Stdin, os.Stdout, rare.All()); err != nil {
		fmt.Fprintln(os.Stderr, "axle-render-rare:", err)
		os.Exit(1)
	}
}
