package rendertest

import (
	"testing"

	"github.com/axle-cd/axle/test/bin"
)

// Binary is axle-render.
func Binary(t testing.TB) string {
	t.Helper()
	return program(t, "axle-render", bin.Options{})
}

// Rare is axle-render-rare.
func Rare(t testing.TB) string {
	t.Helper()
	return program(t, "axle-render-rare", bin.Options{})
}

// Printer is a tool that does what its parameters say, for this machine or a target such
// as wasip1/wasm.
func Printer(t testing.TB, target string) string {
	t.Helper()
	return program(t, "printer", bin.Options{Package: "./render/rendertest/testdata/printer", Target: target})
}

func program(t testing.TB, name string, o bin.Options) string {
	t.Helper()
	path, err := bin.Path(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
