// Command axle-render-rare is axle-render with all makers: Jsonnet, CUE and
// WebAssembly beside the usual ones. The agent starts it for the services that
// use one of them, since linking them makes every start dearer. It is not meant
// to be run by people: axle-agent render DIR does that.
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
	if err := render.Serve(os.Stdin, os.Stdout, rare.Makers()); err != nil {
		fmt.Fprintln(os.Stderr, "axle-render-rare:", err)
		os.Exit(1)
	}
}
