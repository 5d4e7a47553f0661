// Command printer is a tool for tests and, built for WASI, a module: it prints the
// manifests of its folder, or does what its parameter "do" says.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type told struct {
	Name          string            `json:"name"`
	Parameters    map[string]string `json:"parameters"`
	Configuration map[string]string `json:"configuration"`
}

func main() {
	var in told
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fail("the input is not what a tool is told: %v", err)
	}
	if do, ok := deeds[in.Parameters["do"]]; ok {
		do(in)
		return
	}
	print(in)
}

// all holds the memory that "grow" allocates.
var all [][]byte

var deeds = map[string]func(told){
	"loop": func(told) {
		for {
		}
	},
	"grow": func(told) {
		for {
			all = append(all, make([]byte, 16<<20))
		}
	},
	"socket": func(told) { attempt("socket", socket) },
	"read": func(in told) {
		attempt("read", func() error { _, err := os.ReadFile(in.Parameters["path"]); return err })
	},
	"write": func(in told) {
		attempt("write", func() error { return os.WriteFile(in.Parameters["path"], []byte("x"), 0o600) })
	},
	"flood": func(told) {
		for {
			fmt.Println("# " + strings.Repeat("x", 1<<16))
		}
	},
	"environment": func(told) {
		attempt("environment", func() error { return fmt.Errorf("%s", strings.Join(os.Environ(), " ")) })
	},
}

// attempt prints the outcome of do as an object.
func attempt(name string, do func() error) {
	outcome := "worked"
	if err := do(); err != nil {
		outcome = err.Error()
	}
	fmt.Printf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {outcome: %q}\n", name, outcome)
}

// print prints the folder's manifests.
func print(in told) {
	names, err := filepath.Glob("*.yaml")
	if err != nil {
		fail("%v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			fail("%v", err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasSuffix(line, ": twice") {
				fail("%s:%d: a name is no map", name, i+1)
			}
		}
		fmt.Printf("---\n%s", text)
	}
	fmt.Printf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {color: %q}\n", in.Name, in.Configuration["color"])
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
