package upgrade

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
)

func TestUpgradeDefaults(t *testing.T) {
	k, err := New(Config{Client: &kubernetes.Clientset{}, Namespace: "n", Version: "v"})
	if err != nil || k.config.Within != 15*time.Minute || k.config.Tick != 5*time.Second {
		t.Errorf("within %s, every %s, %v", k.config.Within, k.config.Tick, err)
	}
}
