// Command programs builds what tests start, for make programs.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/axle-cd/axle/test/bin"
)

func main() {
	fresh, err := bin.Build(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, file := range fresh {
		fmt.Println("built", file)
	}
}
