package install_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// otherProduct is a live operator that writes the status of the same kinds.
func otherProduct(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "their"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = c.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "their"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"deployments.plural.sh"}, Resources: []string{"clusters/status"}, Verbs: []string{"get", "patch", "update"}},
	}}, metav1.CreateOptions{})
	must(t, err)
	_, err = c.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "their"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "their"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "controller", Namespace: "their"}},
	}, metav1.CreateOptions{})
	must(t, err)
	labels := map[string]string{"app": "controller"}
	made, err := c.AppsV1().Deployments("their").Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "controller"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{ServiceAccountName: "controller", Containers: []corev1.Container{{Name: "c", Image: "their/controller:1"}}}},
	}}, metav1.CreateOptions{})
	must(t, err)
	made.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}
	_, err = c.AppsV1().Deployments("their").UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	must(t, err)
}
