package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/clustercheck"
	"github.com/axle-cd/axle/internal/plain"
)

// Check is what a template requires of a cluster once it is up.
type Check struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
	// Message is for people when it does not hold.
	Message string `json:"message"`
}

// The limits of the texts of checks that do not hold, and of the time for all of a cluster's.
const (
	maxJudging   = 200 * time.Millisecond
	maxUnmet     = 10
	maxUnmetText = 500
)

// status is what checks read of a state: fields of the status of a Cluster of Cluster API.
func (s MadeState) status() map[string]any {
	replicas := func(of ...Machines) map[string]int {
		sum := map[string]int{"desiredReplicas": 0, "readyReplicas": 0, "upToDateReplicas": 0}
		for _, m := range of {
			sum["desiredReplicas"] += m.Desired
			sum["readyReplicas"] += m.Ready
			sum["upToDateReplicas"] += m.UpToDate
		}
		return sum
	}
	conditions := []map[string]string{}
	for _, c := range s.Conditions {
		conditions = append(conditions, map[string]string{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message})
	}
	return map[string]any{"phase": s.Phase, "conditions": conditions, "controlPlane": replicas(s.ControlPlane), "workers": replicas(s.Pools...)}
}

// unmet are the texts of the checks of a cluster that do not hold for its state. One that
// cannot be evaluated does not hold.
func (o Origin) unmet(ctx context.Context, s MadeState) (texts []string) {
	var checks []Check
	var variables map[string]any
	if o.Destroying || json.Unmarshal([]byte(o.Checks), &checks) != nil || json.Unmarshal([]byte(o.Variables), &variables) != nil {
		return nil // it has none
	}
	ctx, cancel := context.WithTimeout(ctx, maxJudging)
	defer cancel()
	status := s.status()
	for _, c := range checks {
		compiled, err := clustercheck.Compile(c.Expression)
		holds := false
		if err == nil {
			holds, err = compiled.Holds(ctx, variables, status)
		}
		if holds || len(texts) == maxUnmet {
			continue
		}
		text := fmt.Sprintf("%s (check %s of the template)", c.Message, c.Name)
		if err != nil {
			text = fmt.Sprintf("%s; it cannot be evaluated: %v", text, err)
		}
		texts = append(texts, plain.Line(text, maxUnmetText))
	}
	return texts
}
