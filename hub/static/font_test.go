package static_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/axle-cd/axle/hub/static"
)

// The pages of the login take the console's font for text, whatever its content is; a build
// without a console has none.
func TestTheFontForTextIsFound(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{"index.html": file(""), "assets/index-BmC7.css": file("css"), "assets/inter-latin-wght-normal-C2S99t-D.woff2": file("text"), "assets/jetbrains-mono-latin-wght-normal-B9CIFXIH.woff2": file("code")}
	if got := string(static.Font(files)); got != "text" {
		t.Errorf("got %q", got)
	}
	delete(files, "assets/inter-latin-wght-normal-C2S99t-D.woff2")
	if static.Font(files) != nil || static.Font(nil) != nil {
		t.Error("there is a font in a build without one")
	}
	// What is built is what it looks for, where it is built.
	if _, err := os.Stat("../../web/dist/index.html"); err == nil && static.Font(os.DirFS("../../web/dist")) == nil {
		t.Error("the console that is built has no such font: does its name differ now?")
	}
}
