package field_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// story is a case.yaml.
type story struct {
	// Report is what was seen, and what it has to be.
	Report string `json:"report"`
	// Service is the spec of the ServiceDeployment, without its cluster, repository,
	// namespace and folder.
	Service map[string]any `json:"service"`
	Steps   []step         `json:"steps"`

	// dir is the folder, name its path below test/field.
	dir, name string
}

// step is one thing that happens. Exactly one of its verbs is set.
type step struct {
	// Sync delivers a folder of the case and waits until the agent is done with it.
	Sync string `json:"sync"`
	// Create, Apply, Patch and Delete are files with objects, which somebody other than
	// the agent creates, applies by server-side apply, patches by merge patch, or deletes.
	Create string `json:"create"`
	Apply  string `json:"apply"`
	Patch  string `json:"patch"`
	Delete string `json:"delete"`
	// Preview asks what an apply of a folder would do.
	Preview string `json:"preview"`

	// As is the field manager of that somebody.
	As string `json:"as"`
	// Service changes the service's spec for this sync and those after it.
	Service map[string]any `json:"service"`
	// Want has to be true before the next step.
	Want *want `json:"want"`
}

// want is a want.yaml. What it does not mention may be anything.
type want struct {
	// Service are the words of the service's status. Of the message a part is enough.
	Service struct {
		Sync    string `json:"sync"`
		Reason  string `json:"reason"`
		Health  string `json:"health"`
		Message string `json:"message"`
	} `json:"service"`
	// Errors are parts of the service's errors and warnings, one each. An empty list
	// means that there are none.
	Errors *[]string `json:"errors"`
	// Preview are parts of the last preview, and Nowhere are texts that must be neither
	// in what the hub shows of the service nor in a preview.
	Preview []string `json:"preview"`
	Nowhere []string `json:"nowhere"`
	// Objects are in the cluster: every field here is the same there. null is a field
	// that is not there; a list has the same number of elements.
	Objects []map[string]any `json:"objects"`
	// Absent are objects that are not in the cluster.
	Absent []map[string]any `json:"absent"`
}

// stories reads all cases.
func stories(t *testing.T) []*story {
	t.Helper()
	files, err := filepath.Glob("*/*/case.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all []*story
	for _, file := range files {
		s := &story{dir: filepath.Dir(file), name: filepath.ToSlash(filepath.Dir(file))}
		s.read(t, "case.yaml", s)
		final := &want{}
		s.read(t, "want.yaml", final)
		if s.Report == "" || len(s.Steps) == 0 {
			t.Fatalf("%s has no report or no steps", file)
		}
		last := &s.Steps[len(s.Steps)-1]
		if last.Want != nil {
			t.Fatalf("%s: the last step's want is want.yaml", file)
		}
		last.Want = final
		all = append(all, s)
	}
	return all
}

func (s *story) read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Fatalf("%s/%s: %v", s.name, name, err)
	}
}

// short is the case's name where only letters, digits and dashes may stand.
func (s *story) short() string { return strings.ReplaceAll(s.name, "/", "-") }

// objects reads the objects of a file.
func (s *story) objects(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

func decode(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for one := range bytes.SplitSeq(text, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(one, &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, one)
		}
		all = append(all, o)
	}
	return all
}

// differs says where have is not as wanted; nil if it is.
func differs(path string, wanted, have any) error {
	switch w := wanted.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %v, not %v", path, have, wanted)
		}
		for key, value := range w {
			if err := differs(path+"."+key, value, h[key]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return fmt.Errorf("%s is %v, not %v", path, have, wanted)
		}
		for i := range w {
			if err := differs(fmt.Sprintf("%s[%d]", path, i), w[i], h[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if fmt.Sprint(wanted) != fmt.Sprint(have) {
		return fmt.Errorf("%s is %v, not %v", path, have, wanted)
	}
	return nil
}
