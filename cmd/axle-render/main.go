// Command axle-render is the agent's render child. It is not meant to be run
// by people: axle-agent render DIR does that. It reads passes from standard
// input and answers on standard output, and cannot do anything else.
package main

import (
	"fmt"
	"os"
	// The child opens no files, time zones included.
	_ "time/tzdata"

	"github.com/axle-cd/axle/render"
)

func main() {
	if err := render.Confine(); err != nil {
		fmt.Fprintln(os.Stderr, "axle-render:", err)
		os.Exit(3)
	}
	if err := render.Serve(os.Stdin, os.Stdout, nil); err != nil {
		fmt.Fprintln(os.Stderr, "axle-render:", err)
		os.Exit(1)
	}
}
