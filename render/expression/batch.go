package expression

import (
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
)

// batchTime bounds one batch; the rest is requested again, so that an expensive rule
// does not end the child.
const batchTime = 2 * time.Second

// Batch compiles a rule and judges objects by it, decoding one after the other.
func Batch(asked *renderv1.Judge) *renderv1.Verdicts {
	rule, err := Compile(asked.GetRule(), asked.GetExpressions())
	if err != nil {
		return &renderv1.Verdicts{Failure: &renderv1.Failure{Message: err.Error()}}
	}
	answer := &renderv1.Verdicts{}
	end := time.Now().Add(batchTime)
	for n, raw := range asked.GetObjects() {
		if n > 0 && time.Now().After(end) {
			break
		}
		answer.Verdicts = append(answer.Verdicts, rule.judgeJSON(raw))
	}
	return answer
}

func (r *Rule) judgeJSON(raw []byte) *renderv1.Verdict {
	var object map[string]any
	// Integers stay integers, as CEL requires.
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return &renderv1.Verdict{Status: unknown, Message: "rule " + r.name + ": cannot decode the object"}
	}
	return r.Judge(object)
}
