package agent

import (
	"encoding/json"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxObject bounds a file with one object.
const maxObject = 4 << 20

// HealthRequest is what HealthOf needs.
type HealthRequest struct {
	// File holds one object, as YAML or JSON; "-" is the standard input.
	File string
	// Lua is the file of a script that judges in place of the agent's own
	// rules, or empty.
	Lua string
}

// HealthOf judges the object in a file and writes the verdict as one line of
// JSON.
func HealthOf(out io.Writer, in io.Reader, request HealthRequest) error {
	object, err := readObject(in, request.File)
	if err != nil {
		return err
	}
	rules := health.Rules{}
	if request.Lua != "" {
		source, err := os.ReadFile(request.Lua)
		if err != nil {
			return argumentError("--lua: %w; name a file with a script", err)
		}
		script, err := health.CompileLua(request.Lua, string(source))
		if err != nil {
			return err
		}
		rules.Replace([]health.Custom{{Name: request.Lua, Kind: object.GroupVersionKind(), Rule: script}})
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(rules.Of(object))
}

func readObject(in io.Reader, file string) (*unstructured.Unstructured, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, argumentError("-f: %w; name a file with one object, or - for standard input", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxObject))
	if err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: %w", file, err)
	}
	var object map[string]any
	// Integers stay integers, as in objects that an API server sends.
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: %w", file, err)
	}
	u := &unstructured.Unstructured{Object: object}
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return nil, errcode.New(errcode.Invalid, "%s holds no object of Kubernetes: apiVersion or kind is missing", file)
	}
	return u, nil
}
