package bin

import (
	"os"
	"path/filepath"
	"testing"
)

// A test whose hub has any style runs again for everything but another look.
func TestOtherStylesAreTheSameHub(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"bin/test/plain/axle-hub":                   "code",
		"bin/test/pages/axle-hub":                   "code and pages",
		"web/dist/index.html":                       `<script src="/assets/index-abcdefgh.js">`,
		"web/dist/assets/index-abcdefgh.js":         `["assets/Menu-12345678.css","assets/terminal-12345678.css"]`,
		"web/dist/assets/Menu-12345678.css":         "a{color:red}",
		"web/dist/assets/Menu-12345678.css.gz":      "packed",
		"web/dist/assets/terminal-12345678.css":     "b{color:red}",
		"docs/site/public/index.html":               "docs",
		"docs/site/public/assets/docs-12345678.css": "c{color:red}",
	}
	hub := Program{"axle-hub", Options{Pages: AnyStyle}}
	build := func() (os.FileInfo, []string) {
		t.Helper()
		fresh, err := anyStyle(t.Context(), root, hub)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(root, "bin/test/anystyle/axle-hub"))
		if err != nil {
			t.Fatal(err)
		}
		return info, fresh
	}
	put := func(name, content string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		put(name, content)
	}
	before, fresh := build()
	if len(fresh) != 1 {
		t.Errorf("the first is reported as %q", fresh)
	}
	for name, change := range map[string]struct {
		files map[string]string
		gone  []string
		same  bool
	}{
		"nothing": {same: true},
		"a sheet, whose name is in a script whose name is in the page": {files: map[string]string{
			"bin/test/pages/axle-hub":           "code and other pages",
			"web/dist/index.html":               `<script src="/assets/index-bbbbbbbb.js">`,
			"web/dist/assets/index-bbbbbbbb.js": `["assets/Menu-22222222.css","assets/terminal-12345678.css"]`,
			"web/dist/assets/Menu-22222222.css": "a{color:blue}",
		}, gone: []string{"web/dist/assets/Menu-12345678.css", "web/dist/assets/index-abcdefgh.js"}, same: true},
		"a sheet of its own pages": {files: map[string]string{"web/dist/assets/terminal-12345678.css": "b{color:blue}"}},
		"a script":                 {files: map[string]string{"web/dist/assets/index-abcdefgh.js": `["assets/Menu-12345678.css"]`}},
		"a file more":              {files: map[string]string{"web/dist/icon.svg": "<svg/>"}},
		"a sheet more":             {files: map[string]string{"web/dist/assets/More-12345678.css": ""}},
		"the documentation":        {files: map[string]string{"docs/site/public/index.html": "other"}},
		"a sheet of that":          {files: map[string]string{"docs/site/public/assets/docs-12345678.css": "other"}},
		"how pages are embedded":   {files: map[string]string{"web/embed.go": "package web"}},
		"the hub":                  {files: map[string]string{"bin/test/plain/axle-hub": "other code"}},
	} {
		t.Run(name, func(t *testing.T) {
			build()
			for name, content := range change.files {
				put(name, content)
			}
			for _, name := range change.gone {
				if err := os.Remove(filepath.Join(root, name)); err != nil {
					t.Fatal(err)
				}
			}
			after, fresh := build()
			if same := after.ModTime().Equal(before.ModTime()); same != change.same || same != (len(fresh) == 0) {
				t.Errorf("the same file: %v, want %v; changed: %q", same, change.same, fresh)
			}
			if after.Size() != before.Size() {
				t.Errorf("it has %d bytes and not %d", after.Size(), before.Size())
			}
			content, err := os.ReadFile(filepath.Join(root, "bin/test/anystyle/axle-hub"))
			if pages := change.files["bin/test/pages/axle-hub"]; err != nil || pages != "" && string(content[:len(pages)]) != pages {
				t.Errorf("it is not the program that ships: %v", err)
			}
			for name := range change.files {
				if content, before := files[name]; before {
					put(name, content)
				} else if err := os.Remove(filepath.Join(root, name)); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range change.gone {
				put(name, files[name])
			}
		})
	}
}
