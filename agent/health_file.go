package agent

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxObject bounds a file with one object.
const maxObject = 4 << 20

// HealthRequest is the input of HealthOf.
type HealthRequest struct {
	// File holds one object, as YAML or JSON; "-" is standard input.
	File string
	// Lua, CEL and Rule are files that judge instead of the agent's own rules: a
	// script, the expressions of a CustomHealth, or a whole CustomHealth. At most one
	// is given.
	Lua, CEL, Rule string
	// Binary is the path of axle-render; the program that evaluates expressions is
	// beside it. Empty searches for it.
	Binary string
}

// HealthOf judges the object in a file and writes the verdict as one line of
// JSON.
func HealthOf(ctx context.Context, out io.Writer, in io.Reader, request HealthRequest) error {
	object, err := readObject(in, request.File)
	if err != nil {
		return err
	}
	custom, err := request.rule(object.GroupVersionKind())
	if err != nil {
		return err
	}
	rules := health.Rules{}
	rules.Replace(custom)
	result := rules.Of(object)
	if rule := rules.Expressions(object.GroupVersionKind()); rule != nil {
		// A rule that does not compile is an error for any object.
		judged, err := request.ask(ctx, rule, object)
		if err != nil {
			return err
		}
		if object.GetDeletionTimestamp() == nil {
			result = judged
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}

// rule reads the rule to judge with, if one is given.
func (r HealthRequest) rule(kind schema.GroupVersionKind) ([]health.Custom, error) {
	var one v1alpha1.CustomHealth
	name := r.Lua + r.CEL + r.Rule
	switch {
	case name == "":
		return nil, nil
	case name != r.Lua && name != r.CEL && name != r.Rule:
		return nil, argumentError("--lua, --cel and --rule exclude each other; give only one")
	}
	source, err := os.ReadFile(name)
	switch {
	case err != nil && r.Lua != "":
		return nil, argumentError("--lua: %w; name a file with a script", err)
	case err != nil && r.CEL != "":
		return nil, argumentError("--cel: %w; name a file with expressions", err)
	case err != nil:
		return nil, argumentError("--rule: %w; name a file with a CustomHealth", err)
	case r.Lua != "":
		one.Spec.Script = string(source)
	case r.CEL != "":
		err = yaml.UnmarshalStrict(source, &one.Spec.Expressions)
	default:
		err = yaml.UnmarshalStrict(source, &one)
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: %w", name, err)
	}
	if one.Name == "" {
		one.Name = name
	}
	if r.Rule == "" {
		one.Spec.Group, one.Spec.Version, one.Spec.Kind = kind.Group, kind.Version, kind.Kind
	}
	list, problems := health.FromObjects([]v1alpha1.CustomHealth{one})
	for _, problem := range problems {
		return nil, problem
	}
	return list, nil
}

func (r HealthRequest) ask(ctx context.Context, rule *health.Expressions, object *unstructured.Unstructured) (health.Result, error) {
	runner, err := render.New(render.Config{Binary: r.Binary})
	if err != nil {
		return health.Result{}, err
	}
	defer runner.Close()
	raw, err := object.MarshalJSON()
	if err != nil {
		return health.Result{}, err
	}
	results, err := verdicts{runner}.JudgeExpressions(ctx, rule, [][]byte{raw})
	if err != nil {
		return health.Result{}, err
	}
	return results[0], nil
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
	// Integers stay integers, as in objects from an API server.
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: %w", file, err)
	}
	u := &unstructured.Unstructured{Object: object}
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return nil, errcode.New(errcode.Invalid, "%s does not hold a Kubernetes object: apiVersion or kind is missing", file)
	}
	return u, nil
}
