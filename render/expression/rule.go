// Package expression evaluates health rules that users wrote in CEL. The agent does
// not link it, because CEL costs memory in every cluster. It runs in the render
// child, which is started if there are such rules (package agent/render asks, render
// serves).
//
// A rule is compiled and type-checked before use. An expression may cost at most
// 1,000,000 in CEL's cost units, a judgement 500 ms, and all judgements of a batch
// together 2 s. Any error means Unknown, with a message that names rule and
// expression, never Healthy. No data of one object is visible to the next.
package expression

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
)

// The limits of one expression: its cost in CEL's units, and the time.
const (
	maxExpression = 16 << 10
	maxCost       = 1_000_000
	maxTime       = 500 * time.Millisecond
	maxMessage    = 1024
)

// The values of a status.
const (
	healthy     = "Healthy"
	suspended   = "Suspended"
	progressing = "Progressing"
	degraded    = "Degraded"
	unknown     = "Unknown"
)

// Rule is one compiled rule. It is safe for concurrent use.
type Rule struct {
	name    string
	tests   []test
	message cel.Program
}

type test struct {
	field   string
	status  string
	program cel.Program
}

// fields are the parts of an object that expressions can use by name, besides obj.
// Missing parts are empty.
var fields = []string{"metadata", "spec", "status", "data"}

// environment is created with the first expression. It has the libraries that Flux
// gives to its health checks, so that their expressions work unchanged.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	object := cel.MapType(cel.StringType, cel.DynType)
	options := []cel.EnvOption{
		cel.Variable("obj", object), cel.Variable("apiVersion", cel.StringType), cel.Variable("kind", cel.StringType),
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		ext.Strings(ext.StringsVersion(3)), ext.Sets(), ext.Encoders(),
	}
	for _, field := range fields {
		options = append(options, cel.Variable(field, object))
	}
	return cel.NewEnv(options...)
})

// Compile compiles a rule; name is used in its messages. An error names the
// expression that does not compile, and the line and column.
func Compile(name string, source *renderv1.Expressions) (*Rule, error) {
	if source.GetCurrent() == "" {
		return nil, fmt.Errorf("rule %s has no expression current, so no object could be Healthy; give one", name)
	}
	rule := &Rule{name: name}
	for _, one := range []struct{ field, text, status string }{
		{"suspended", source.GetSuspended(), suspended}, {"inProgress", source.GetInProgress(), progressing},
		{"failed", source.GetFailed(), degraded}, {"current", source.GetCurrent(), healthy},
	} {
		if one.text == "" {
			continue
		}
		program, err := compile(name, one.field, one.text, cel.BoolType)
		if err != nil {
			return nil, err
		}
		rule.tests = append(rule.tests, test{one.field, one.status, program})
	}
	if source.GetMessage() != "" {
		program, err := compile(name, "message", source.GetMessage(), cel.StringType)
		if err != nil {
			return nil, err
		}
		rule.message = program
	}
	return rule, nil
}

func compile(name, field, text string, want *cel.Type) (cel.Program, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("expression %s of rule %s has %d bytes; %d are allowed", field, name, len(text), maxExpression)
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("the language CEL: %w", err)
	}
	tree, issues := env.Compile(text)
	if found := issues.Errors(); len(found) > 0 {
		first := found[0]
		return nil, fmt.Errorf("expression %s of rule %s does not compile: line %d, column %d: %s",
			field, name, first.Location.Line(), first.Location.Column()+1, short(strings.TrimSuffix(first.Message, " (in container '')")))
	}
	if got := tree.OutputType(); !got.IsAssignableType(want) && got.Kind() != cel.DynKind {
		return nil, fmt.Errorf("expression %s of rule %s is %s instead of %s", field, name, got, want)
	}
	program, err := env.Program(tree, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, fmt.Errorf("expression %s of rule %s: %w", field, name, err)
	}
	return program, nil
}

var (
	errKind = errors.New("the result is not true or false")
	errText = errors.New("the result is not a string")
)

// Judge evaluates the expressions for one object, decoded from JSON with integers
// kept as such.
func (r *Rule) Judge(object map[string]any) *renderv1.Verdict {
	ctx, cancel := context.WithTimeout(context.Background(), maxTime)
	defer cancel()
	values := input(object)
	verdict := &renderv1.Verdict{Status: progressing}
	for _, t := range r.tests {
		if t.status != suspended && !observed(object) {
			break
		}
		yes, err := truth(ctx, t.program, values)
		if err != nil {
			return r.unknown(t.field, err)
		}
		if yes {
			verdict.Status = t.status
			break
		}
	}
	if r.message == nil {
		return verdict
	}
	value, _, err := r.message.ContextEval(ctx, values)
	if err != nil {
		return r.unknown("message", err)
	}
	words, ok := value.ConvertToType(types.StringType).Value().(string)
	if !ok {
		return r.unknown("message", errText)
	}
	verdict.Message = short(words)
	return verdict
}

// observed is false if the object's controller has not processed the present
// specification: then the status belongs to the one before.
func observed(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	status, _ := object["status"].(map[string]any)
	seen, said := status["observedGeneration"].(int64)
	generation, counted := metadata["generation"].(int64)
	return !said || !counted || seen == generation
}

func truth(ctx context.Context, program cel.Program, values map[string]any) (bool, error) {
	value, _, err := program.ContextEval(ctx, values)
	if err != nil {
		return false, err
	}
	yes, ok := value.Value().(bool)
	if !ok {
		return false, errKind
	}
	return yes, nil
}

func input(object map[string]any) map[string]any {
	values := map[string]any{"obj": object}
	for _, word := range []string{"apiVersion", "kind"} {
		text, _ := object[word].(string)
		values[word] = text
	}
	for _, field := range fields {
		values[field] = map[string]any{}
		if value, ok := object[field].(map[string]any); ok {
			values[field] = value
		}
	}
	return values
}

func (r *Rule) unknown(field string, err error) *renderv1.Verdict {
	return &renderv1.Verdict{Status: unknown, Message: short(fmt.Sprintf("rule %s: expression %s: %v", r.name, field, err))}
}

func short(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-len("…")], "") + "…"
}
