package agent

import (
	"encoding/json"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxObject bounds a file with one object.
const maxObject = 4 << 20

// HealthOf judges the object in a file, "-" is in, and writes the verdict as
// one line of JSON.
func HealthOf(out io.Writer, in io.Reader, file string) error {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return argumentError("-f: %w; name a file with one object, or - for standard input", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxObject))
	if err != nil {
		return err
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		return errcode.New(errcode.Invalid, "%s: %w", file, err)
	}
	u := &unstructured.Unstructured{Object: object}
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return errcode.New(errcode.Invalid, "%s holds no object of Kubernetes: apiVersion or kind is missing", file)
	}
	return json.NewEncoder(out).Encode(health.Of(u))
}
