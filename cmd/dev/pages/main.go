// Command pages writes the generated pages of the reference for the docs site, for make
// pages (ADR 147). It needs nothing but this checkout.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/axle-cd/axle/internal/archtest"
	"github.com/axle-cd/axle/test/reference"
)

func main() {
	root, err := archtest.Root()
	if err == nil {
		var n int
		if n, err = reference.Write(context.Background(), root); err == nil {
			fmt.Printf("pages: %d in %s\n", n, reference.Folder)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(1)
}
