// Command axle-render-rare is axle-render with all makers: Jsonnet, CUE and
// WebAssembly beside the usual ones, and CEL for rules of health. The agent
// starts it for the services that use one of them and for such rules, since
// linking them makes every start dearer. It is not meant to be run by people:
// axle-agent render DIR and axle-agent health --cel FILE do that.
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
