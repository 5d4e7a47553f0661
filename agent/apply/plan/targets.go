package plan

import (
	"encoding/json"
	"strings"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// Targets returns the objects that the autoscalers of a plan scale.
func (p *Plan) Targets() map[kubeobj.Ref]bool {
	var all map[kubeobj.Ref]bool
	for _, it := range p.Items {
		if it.Ref.Kind != "HorizontalPodAutoscaler" && it.Ref.Kind != "ScaledObject" {
			continue
		}
		var scaler struct {
			Spec struct {
				ScaleTargetRef struct{ APIVersion, Kind, Name string }
			}
		}
		if json.Unmarshal(it.Body, &scaler) != nil {
			continue
		}
		aim := scaler.Spec.ScaleTargetRef
		if aim.Kind == "" {
			aim.Kind, aim.APIVersion = "Deployment", "apps/v1"
		}
		group, _, _ := strings.Cut(aim.APIVersion, "/")
		if !strings.Contains(aim.APIVersion, "/") {
			group = ""
		}
		if all == nil {
			all = map[kubeobj.Ref]bool{}
		}
		all[kubeobj.Ref{Group: group, Kind: aim.Kind, Namespace: it.Ref.Namespace, Name: aim.Name}] = true
	}
	return all
}
