package kubeclient

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unchangeable are the words of the API server's validations of updates about a field
// that cannot be changed in place: those of Kubernetes 1.36, and of older versions where
// theirs differ. TestEveryImmutableFieldIsKnown has the refusals themselves, and
// TestWordsOfRefusals the words of those that need a controller or a node to come about.
var unchangeable = regexp.MustCompile(
	// ValidateImmutableField and its declarative form: Services, Jobs, Secrets, selectors,
	// classes, CRDs; PersistentVolumes and their claims. CEL rules use the word as well.
	`(?i)\bimmutable\b` +
		`|\bself(\.\w+)* == oldSelf\b` +
		// Declarative rules for what may be set once.
		`|field cannot be (cleared|modified) once set|field cannot be set once created` +
		// Services: cluster IPs, families, the class of the load balancer.
		`|may not change once set|primary (clusterIP|ipFamily) can not be unset` +
		// PriorityClasses and Nodes.
		`|may not be (changed|updated)\b|node updates may not change` +
		// RoleBindings and ClusterRoleBindings.
		`|cannot change roleRef` +
		// StatefulSets; StorageClasses and VolumeAttributesClasses; budgets of old versions.
		`|updates to .+ are forbidden` +
		// Pods.
		`|pod updates may not (change fields|add or remove containers)` +
		`|may not (add|remove or update) (mirror pod|AppArmor) annotation` +
		`|must be less than or equal to previous value|must not update from a positive integer to nil` +
		`|existing toleration can not be modified|found new scheduling gate` +
		// Pods with scheduling gates, and Jobs that are suspended.
		`|only additions (to spec\.nodeSelector )?are allowed|no additions/deletions to non-empty` +
		// The size and the attributes class of a claim; of a bound one it may be less than before,
		// and not less than it has.
		`|field can not be less than (previous value|status\.capacity)|update from non-nil value to nil is forbidden|update to (empty string|nil) is forbidden`)

func immutable(cause metav1.StatusCause) bool { return unchangeable.MatchString(cause.Message) }
