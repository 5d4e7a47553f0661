package configuration

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzConfiguration reads any text as the cluster's AgentConfiguration.
func FuzzConfiguration(f *testing.F) {
	for _, spec := range []string{`{}`, `null`, `[]`, `{"servicePollInterval":"1m","clusterPingInterval":"1h","maxConcurrentReconciles":4}`, `{"servicePollInterval":"-1h","maxConcurrentReconciles":1e9,"vulnerabilityReportUploadInterval":"1h"}`} {
		f.Add(`{"kind":"AgentConfiguration","apiVersion":"deployments.plural.sh/v1alpha1","metadata":{"name":"default","generation":3},"spec":` + spec + `}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		taken.Few(t, len(text), func() {
			object := &unstructured.Unstructured{}
			if object.UnmarshalJSON([]byte(text)) != nil {
				return
			}
			conf, s, problems, err := read(object)
			if err != nil {
				return
			}
			notActing(conf.Spec)
			if s.Passes < 0 || s.Passes > maxPasses || s.Interval != 0 && s.Interval < leastInterval || s.Whole != 0 && s.Whole < leastInterval {
				t.Errorf("%+v", s)
			}
			for _, p := range problems {
				if len(p) > 512 {
					t.Errorf("a problem of %d bytes", len(p))
				}
			}
		})
	})
}
