// Command axle-render is the agent's render child. People do not run it: they use
// axle-agent render DIR. It reads passes from standard input and answers on standard
// output, and cannot do anything else. With the argument "tool" it becomes one of the
// agent's tools, confined.
package main

import (
	"fmt"
	"os"
	// The child opens no files, time zones included.
	_ "time/tzdata"

	"github.com/axle-cd/axle/internal/confine"
	"github.com/axle-cd/axle/render"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == confine.LaunchWord {
		fmt.Fprintln(os.Stderr, "axle-render:", confine.Launch(os.Args[2:]))
		os.Exit(3)
	}
	if err := render.Confine(); err != nil {
		fmt.Fprintln(os.Stderr, "axle-render:", err)
		os.Exit(3)
	}
	if err := render.Serve(os.Stdin, os.Stdout, render.Rare{}); err != nil {
		fmt.Fprintln(os.Stderr, "axle-render:", err)
		os.Exit(1)
	}
}
