package removals

// dropped are versions that k8s.io/api has no types of any more, or never had, by the
// deprecated API migration guide of Kubernetes. Releases of Helm may still hold them.
var dropped = []Removal{
	{"apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition", "customresourcedefinitions", 22, "apiextensions.k8s.io/v1/CustomResourceDefinition"},
	{"apiregistration.k8s.io", "v1beta1", "APIService", "apiservices", 22, "apiregistration.k8s.io/v1/APIService"},
	{"autoscaling", "v2beta1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", 25, "autoscaling/v2/HorizontalPodAutoscaler"},
	{"autoscaling", "v2beta2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", 26, "autoscaling/v2/HorizontalPodAutoscaler"},
	{"extensions", "v1beta1", "PodSecurityPolicy", "podsecuritypolicies", 16, ""},
	{"policy", "v1beta1", "PodSecurityPolicy", "podsecuritypolicies", 25, ""},
}
