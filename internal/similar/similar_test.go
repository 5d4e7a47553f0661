package similar_test

import (
	"testing"

	"github.com/axle-cd/axle/internal/similar"
)

func TestTheNearestWordIsMeant(t *testing.T) {
	known := []string{"ConfigMap", "Config", "Service", "ServiceAccount", "Job"}
	for word, want := range map[string]string{
		"Configmap": "ConfigMap", "ConfigMaps": "ConfigMap", "Servise": "Service", "Deployment": "", "Jab": "", "": "", "Conf": "Config",
	} {
		if got := similar.To(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
