// Package buildinfo says which build is running. The release sets Version
// and ReleaseKey by the linker; everything else is read from the binary itself.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Version is the release, set with -ldflags "-X …/buildinfo.Version=v1.2.3".
// A build without it is a development build.
var Version = "0.1.0-dev"

// ReleaseKey is the public key that the release was signed with, the base64 of its DER.
// The release sets it; a build without it trusts no key.
var ReleaseKey = ""

// Commit returns the source revision the binary was built from, or "unknown" if the
// build recorded none.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown"
}

// Go returns the toolchain and platform, such as "go1.26.0 linux/amd64".
func Go() string { return runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH }
