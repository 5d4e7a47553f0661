package apply_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/eventually"
)

// TestPruneThatIsDeniedForAWhile: what an admission policy keeps is not forgotten, whatever is
// delivered meanwhile, and goes once it may.
func TestPruneThatIsDeniedForAWhile(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, configMap("precious", "v"), configMap("other", "v"))
	policies := b.admin.AdmissionregistrationV1()
	name := "keeps-" + service.ID
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Delete},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: "oldObject.metadata.namespace != '" + service.Namespace + "' || oldObject.metadata.name != 'precious'", Message: "it is precious"}},
	}}
	if _, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	denied := func(want bool) {
		t.Helper()
		eventually.For(t, 20*time.Second, "the policy holds as it should", func() error {
			err := b.admin.CoreV1().ConfigMaps(service.Namespace).Delete(t.Context(), "precious", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
			if (err != nil) != want {
				return fmt.Errorf("a delete by hand: %v", err)
			}
			return nil
		})
	}
	denied(true)
	service.TarballDigest = "d2"
	result := b.pass(service, configMap("other", "v"))
	if texts := fmt.Sprint(result.Problems); result.Sync != apply.SyncFailed || !strings.Contains(texts, "it is precious") || !strings.Contains(texts, "precious") {
		t.Errorf("a denied prune: %+v", result)
	}
	service.TarballDigest = "d3"
	if result = b.pass(service, configMap("other", "new")); result.Sync != apply.SyncFailed || result.Applied != 1 {
		t.Errorf("the next commit: %+v", result)
	}
	if err := policies.ValidatingAdmissionPolicyBindings().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	denied(false)
	service.TarballDigest = "d4"
	if result = b.pass(service, configMap("other", "new")); result.Phase != apply.PhaseApplied || result.Pruned != 1 {
		t.Errorf("once it may go: %+v", result)
	}
	if _, err := b.configMap(service.Namespace, "precious"); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	if err := policies.ValidatingAdmissionPolicies().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
