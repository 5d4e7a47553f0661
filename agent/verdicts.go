package agent

import (
	"context"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/render"
)

// verdicts asks the render child for the verdicts of CEL health rules.
type verdicts struct{ renderer *render.Runner }

// JudgeExpressions implements drift.Expressions.
func (v verdicts) JudgeExpressions(ctx context.Context, rule *health.Expressions, objects [][]byte) ([]health.Result, error) {
	found, err := v.renderer.Judge(ctx, render.Rule{
		Name: rule.Name, Suspended: rule.Suspended, InProgress: rule.InProgress, Failed: rule.Failed, Current: rule.Current, Message: rule.Message,
	}, objects)
	if err != nil {
		return nil, err
	}
	results := make([]health.Result, len(found))
	for n, one := range found {
		results[n] = health.Result{Status: health.Status(one.Status), Message: one.Message}
	}
	return results, nil
}

// check reports whether a rule compiles: an Invalid error says where it does not; any
// other error means that it could not be checked.
func (v verdicts) check(ctx context.Context, rule *health.Expressions) error {
	_, err := v.JudgeExpressions(ctx, rule, nil)
	return err
}
