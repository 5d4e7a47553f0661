package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Both are committed: a release ships the files of the first, and the contract
// test of deploy/clusters judges by the second.
const (
	known = "../../deploy/clusterapi/components.txt"
	crds  = "../../test/clusters/testdata/definitions.json.gz"
)

const usage = "usage: go run . components --out DIR | check [--out DIR] | update"

// head is the comment of the list.
const head = `# The component files of Cluster API and its providers, as releases ship them and hubs install them: SHA-256, bytes, name, version, namespace,
# image of the manager, and the Secret with credentials that is yours to create (- is none). Written by tools/capi.
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "capi:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	out := flags.String("out", "", "folder for the component files")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	list, definitions, err := all(*out)
	if err != nil {
		return err
	}
	switch args[0] {
	case "components":
		if *out == "" {
			return errors.New(usage)
		}
		return nil
	case "check":
		return errors.Join(check(known, list, same), check(crds, definitions, unpacked))
	case "update":
		if err := os.WriteFile(known, list, 0o644); err != nil {
			return err
		}
		return os.WriteFile(crds, definitions, 0o644)
	}
	return errors.New(usage)
}

// all builds every component file, into out where it is set, and returns the list of
// them and the definitions of the tests.
func all(out string) (list, packed []byte, err error) {
	var sums strings.Builder
	sums.WriteString(head)
	var picked []object
	for _, p := range providers {
		made, err := build(p)
		if err != nil {
			return nil, nil, err
		}
		text, err := file(p, made.objects)
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(&sums, "%x %d %s %s %s %s %s\n", sha256.Sum256(text), len(text), p.name, p.version, made.namespace, p.image, cmp.Or(made.secret, "-"))
		if out != "" {
			if err := write(filepath.Join(out, p.name+".yaml"), text); err != nil {
				return nil, nil, err
			}
		}
		found, err := definitions(p, made.objects)
		if err != nil {
			return nil, nil, err
		}
		picked = append(picked, found...)
	}
	packed, err = pack(picked)
	return []byte(sums.String()), packed, err
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// check compares a committed file with what was made now.
func check(path string, made []byte, read func([]byte) ([]byte, error)) error {
	kept, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	old, err := read(kept)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	now, err := read(made)
	if err != nil {
		return err
	}
	if !bytes.Equal(old, now) {
		return fmt.Errorf("%s is not what the modules of providers.go make: run go run . update in tools/capi, and review the difference", path)
	}
	fmt.Printf("%s: %d bytes, as the modules make it\n", path, len(kept))
	return nil
}

func same(b []byte) ([]byte, error) { return b, nil }

// unpacked compares by content: compressed bytes differ between versions of Go.
func unpacked(b []byte) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}
