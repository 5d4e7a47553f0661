// Package tool parses the output of one of the agent's tools: manifests, as YAML or
// JSON. It runs nothing; the parent of the render child runs the tool, confined,
// because the child itself cannot. The render child calls it.
package tool

import (
	"fmt"
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

// Request is one run of a tool.
type Request struct {
	Tree *tree.Tree
	// Dir is the tool's working folder.
	Dir string
	// Name is the tool's.
	Name string
	// Namespace is the namespace of objects that name none.
	Namespace string
	// Run has the parent run the tool.
	Run func() (Output, error)
}

// Output is the result of a run.
type Output struct {
	// Text is what the tool printed.
	Text []byte
	// Words is its standard error.
	Words string
	// Problem is why there is no output.
	Problem string
	// Generates: another run may print different values.
	Generates bool
}

// Render runs the tool and returns the printed objects. A tool that generates values
// runs twice, and differing values are marked.
func Render(r Request) (objects []manifest.Object, warnings []string, err error) {
	objects, warnings, generates, err := r.once()
	if err != nil || !generates {
		return objects, warnings, err
	}
	again, _, _, err := r.once()
	if err != nil {
		return nil, nil, err
	}
	return objects, warnings, manifest.MarkVolatile(objects, again)
}

func (r Request) once() (objects []manifest.Object, warnings []string, generates bool, err error) {
	out, err := r.Run()
	if err != nil {
		return nil, nil, false, err
	}
	if out.Problem != "" {
		return nil, nil, false, r.failed(out)
	}
	objects, warnings, err = manifest.DecodeOutput(fmt.Sprintf("%s (tool %s)", path.Clean(r.Dir), r.Name), out.Text)
	if err == nil {
		err = manifest.Once(objects, r.Namespace)
	}
	return objects, warnings, out.Generates, err
}

// failed is the error of a run, with the position that the tool printed.
func (r Request) failed(out Output) error {
	bad := &manifest.Error{File: path.Clean(r.Dir), Message: fmt.Sprintf("the tool %q: %s", r.Name, out.Problem)}
	if words := strings.TrimSpace(out.Words); words != "" {
		bad.Message += ": " + words
	}
	if file, line := manifest.PlaceIn(out.Words, r.Dir, r.Tree.IsFile); file != "" {
		bad.File, bad.Line = file, line
	}
	return bad
}
