// Command hello is what the tests of package bin build.
package main

import (
	"fmt"

	"github.com/axle-cd/axle/internal/buildinfo"
)

func main() { fmt.Println(word, buildinfo.Version) }
