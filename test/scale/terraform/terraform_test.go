package terraform_test

import (
	"testing"

	"github.com/axle-cd/axle/test/scale/terraform"
)

// TestRefreshMakesAtMostOneCallAResource is the promise of the provider, at a small size.
func TestRefreshMakesAtMostOneCallAResource(t *testing.T) {
	r, err := terraform.Measure(t.Context(), terraform.Config{Resources: 40, Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if r.CallsPerRefresh > 1 || r.CallsPerRefresh == 0 {
		t.Errorf("a refresh makes %.2f calls a resource", r.CallsPerRefresh)
	}
	t.Logf("%+v", r)
}
