//go:build !linux || !(amd64 || arm64)

package confine

import "errors"

// LaunchWord is the first argument of a program that must call Launch.
const LaunchWord = "tool"

var errHere = errors.New("this needs Linux on amd64 or arm64, where code can be confined")

// Threads fails.
func Threads([]uint32) error { return errHere }

// Launch fails.
func Launch([]string) error { return errHere }
