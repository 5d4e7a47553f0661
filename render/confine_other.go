//go:build !linux || !(amd64 || arm64)

package render

import "errors"

// Confine fails where the child cannot be confined: rendering there would run
// untrusted templates with all of the agent's rights.
func Confine() error {
	return errors.New("rendering needs Linux on amd64 or arm64, where the render child can be confined")
}
