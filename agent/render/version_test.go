package render_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/agent/render"
)

// TestVersionsFollowThePrograms: two programs of the same bytes are the same renderer, and one
// that differs is another, wherever its first difference is. Go's build ID stands for all that
// is behind it; a program without one is read to its end.
func TestVersionsFollowThePrograms(t *testing.T) {
	start := make([]byte, 64<<10)
	f, err := os.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, start); err != nil {
		t.Fatal(err)
	}
	note := bytes.Index(start, []byte("Go\x00\x00"))
	if note < 0 {
		t.Fatal("axle-render has no build ID")
	}
	changed := func(whole []byte, at int) []byte {
		other := bytes.Clone(whole)
		other[at] ^= 1
		return other
	}
	script := append([]byte("#!/bin/sh\n"), start[32<<10:]...)
	stripped := bytes.Clone(start)
	clear(stripped[note-8 : note-4]) // the length of the ID
	long := bytes.Clone(start)
	copy(long[note-8:], "\xff\xff\xff\xff")
	fixed := bytes.Clone(start)
	copy(fixed[note+4:], bytes.Repeat([]byte("r"), int(start[note-8]))) // as with -buildid=redacted
	plain := version(t, start, nil)
	for name, one := range map[string]struct {
		program, rare []byte
		like          string
		same          bool
	}{
		"the same bytes":               {program: start, like: plain, same: true},
		"behind the ID":                {program: changed(start, len(start)-1), like: plain, same: true},
		"another ID":                   {program: changed(start, note+4), like: plain},
		"the end of the ID":            {program: changed(start, note+4+int(start[note-8])-1), like: plain},
		"a rare program beside it":     {program: start, rare: start, like: plain},
		"a rare program of another ID": {program: start, rare: changed(start, note+4), like: version(t, start, start)},
		"a script":                     {program: script, like: version(t, script, nil), same: true},
		"the start of a script":        {program: changed(script, 100), like: version(t, script, nil)},
		"the end of a script":          {program: changed(script, len(script)-1), like: version(t, script, nil)},
		"without an ID":                {program: stripped, like: version(t, changed(stripped, len(stripped)-1), nil)},
		"an ID of the builder's own":   {program: fixed, like: version(t, changed(fixed, len(fixed)-1), nil)},
		"an ID longer than the file":   {program: long, like: version(t, changed(long, len(long)-1), nil)},
	} {
		if got := version(t, one.program, one.rare); (got == one.like) != one.same {
			t.Errorf("%s: version %s, the other has %s; are they the same: want %t", name, got, one.like, one.same)
		}
	}
}

// version is the version of a renderer of these bytes.
func version(t *testing.T, program, rare []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "axle-render")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	if rare != nil {
		if err := os.WriteFile(render.Rare(path), rare, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return newRunner(t, render.Config{Binary: path}).RendererVersion()
}
