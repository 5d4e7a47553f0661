// Command hello is a program for the tests of package bin.
package main

import (
	"fmt"

	"github.com/axle-cd/axle/internal/buildinfo"
)

func main() { fmt.Println(word, buildinfo.Version) }
