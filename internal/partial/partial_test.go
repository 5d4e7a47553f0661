package partial_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/partial"
)

type inner struct {
	Ref    string   `json:"ref,omitempty"`
	Folder string   `json:"folder,omitempty"`
	Files  []string `json:"files,omitempty"`
}

type thing struct {
	Name   string            `json:"name,omitempty"`
	Git    *inner            `json:"git,omitempty"`
	Values map[string]string `json:"values,omitempty"`
}

func TestMergeTakesTheNamedFieldsAlone(t *testing.T) {
	old := thing{Name: "a", Git: &inner{Ref: "main", Folder: "web"}, Values: map[string]string{"k": "v", "l": "w"}}
	for name, test := range map[string]struct {
		from  thing
		paths []string
		want  thing
	}{
		"all":        {thing{Name: "b"}, nil, thing{Name: "b"}},
		"one":        {thing{Name: "b", Git: &inner{Ref: "v2"}}, []string{"git.ref"}, thing{Name: "a", Git: &inner{Ref: "v2", Folder: "web"}, Values: old.Values}},
		"removed":    {thing{}, []string{"git.folder", "name"}, thing{Git: &inner{Ref: "main"}, Values: old.Values}},
		"a whole":    {thing{Git: &inner{Files: []string{"x"}}}, []string{"git"}, thing{Name: "a", Git: &inner{Files: []string{"x"}}, Values: old.Values}},
		"a key":      {thing{Values: map[string]string{"k": "new"}}, []string{"values.k"}, thing{Name: "a", Git: old.Git, Values: map[string]string{"k": "new", "l": "w"}}},
		"below none": {thing{}, []string{"git.files"}, old},
	} {
		got, err := partial.Merge(old, test.from, test.paths)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for _, path := range []string{"", "x", "git.x", "git.ref.x", "name.x", "values.", "values.k.x"} {
		var none *partial.NoFieldError
		if _, err := partial.Merge(old, thing{}, []string{path}); !errors.As(err, &none) || none.Path != path {
			t.Errorf("%q: %v", path, err)
		}
	}
	if got, err := partial.Normal(thing{Git: &inner{Files: []string{}}, Values: map[string]string{}}); err != nil || got.Git.Files != nil || got.Values != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
