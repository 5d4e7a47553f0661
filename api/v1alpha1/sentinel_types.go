package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Sentinel checks clusters: their logs, their objects, and with tests that run
// on them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axsen
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Sentinel struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec SentinelSpec `json:"spec,omitempty"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is checked: the hub has no sentinels yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// SentinelSpec holds the checks, and when they run.
type SentinelSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Crontab says when the checks run: a cron expression with five fields.
	Crontab *string `json:"crontab,omitempty"`
	// RepositoryRef names the GitRepository of git.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// ProjectRef is the Project of the sentinel; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Git is the folder with the rules.
	Git *Git `json:"git,omitempty"`
	// Checks to run.
	Checks []SentinelCheck `json:"checks,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// SentinelCheck is one check; only the field of its type is used.
type SentinelCheck struct {
	// Type of the check.
	// +kubebuilder:validation:Enum=LOG;KUBERNETES;INTEGRATION_TEST
	Type string `json:"type"`
	// Name of the check.
	Name string `json:"name,omitempty"`
	// RuleFile is a file of git with the rules.
	RuleFile *string `json:"ruleFile,omitempty"`
	// Configuration of the check.
	Configuration *SentinelConfiguration `json:"configuration,omitempty"`
}

// SentinelConfiguration configures one type of check.
type SentinelConfiguration struct {
	// Log reads logs.
	Log *SentinelLog `json:"log,omitempty"`
	// Kubernetes reads an object.
	Kubernetes *SentinelKubernetes `json:"kubernetes,omitempty"`
	// IntegrationTest runs tests on clusters.
	IntegrationTest *SentinelTest `json:"integrationTest,omitempty"`
}

// SentinelLog reads logs.
type SentinelLog struct {
	// Namespaces whose logs are read.
	Namespaces []string `json:"namespaces,omitempty"`
	// Query of the logs.
	Query string `json:"query,omitempty"`
	// ClusterRef is the Cluster whose logs are read.
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`
	// Duration of the period that is read.
	Duration string `json:"duration,omitempty"`
	// Facets that entries must have.
	Facets map[string]string `json:"facets,omitempty"`
}

// SentinelKubernetes reads an object.
type SentinelKubernetes struct {
	// Group of its kind.
	Group *string `json:"group,omitempty"`
	// Version of its kind.
	Version string `json:"version,omitempty"`
	// Kind of the object.
	Kind string `json:"kind,omitempty"`
	// Name of the object.
	Name string `json:"name,omitempty"`
	// Namespace of the object.
	Namespace *string `json:"namespace,omitempty"`
	// ClusterRef is the Cluster of the object.
	ClusterRef ObjectReference `json:"clusterRef"`
}

// SentinelTest runs tests on clusters.
type SentinelTest struct {
	// Format of the tests' output.
	// +kubebuilder:validation:Enum=PLAINTEXT;JUNIT
	Format string `json:"format"`
	// JobSpec of the tests.
	JobSpec *JobSpec `json:"jobSpec,omitempty"`
	// Gotestsum are flags of gotestsum.
	Gotestsum *SentinelGotestsum `json:"gotestsum,omitempty"`
	// Distro that a cluster must have.
	// +kubebuilder:validation:Enum=GENERIC;EKS;AKS;GKE;RKE;K3S;OPENSHIFT
	Distro *string `json:"distro,omitempty"`
	// Tags that a cluster must all have.
	Tags map[string]string `json:"tags,omitempty"`
	// RerunFailures runs failed tests again.
	RerunFailures *bool `json:"rerunFailures,omitempty"`
	// RerunFailuresCount is the maximum number of reruns.
	RerunFailuresCount *int64 `json:"rerunFailuresCount,omitempty"`
	// PostrunScript runs after the Job.
	PostrunScript *string `json:"postrunScript,omitempty"`
	// RepositoryRef names the GitRepository of git.
	RepositoryRef *ObjectReference `json:"repositoryRef,omitempty"`
	// Git is the folder with the tests.
	Git *Git `json:"git,omitempty"`
	// Default are settings of the built-in tests.
	Default *SentinelTestDefault `json:"default,omitempty"`
	// Cases are additional tests.
	Cases []SentinelTestCase `json:"cases,omitempty"`
}

// SentinelGotestsum are flags of gotestsum.
type SentinelGotestsum struct {
	// P is the number of packages that are tested at once.
	P *string `json:"p,omitempty"`
	// Parallel is the number of tests of one package that run at once.
	Parallel *string `json:"parallel,omitempty"`
}

// SentinelTestDefault are settings of the built-in tests.
type SentinelTestDefault struct {
	// Ignore skips them.
	Ignore *bool `json:"ignore,omitempty"`
	// Registry of their images.
	Registry *string `json:"registry,omitempty"`
	// NamespaceLabels are labels of the namespaces that they create.
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// NamespaceAnnotations are annotations of the namespaces that they create.
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
	// ResourceLabels are labels of the objects that they create.
	ResourceLabels map[string]string `json:"resourceLabels,omitempty"`
	// ResourceAnnotations are annotations of the objects that they create.
	ResourceAnnotations map[string]string `json:"resourceAnnotations,omitempty"`
}

// SentinelTestCase is one test; only the field of its type is used.
type SentinelTestCase struct {
	// Type of the test.
	// +kubebuilder:validation:Enum=COREDNS;LOADBALANCER;RAW;PVC
	Type string `json:"type"`
	// Name of the test.
	Name string `json:"name,omitempty"`
	// CoreDNS resolves names.
	CoreDNS *SentinelCoreDNS `json:"coredns,omitempty"`
	// Loadbalancer creates a Service with an external address.
	Loadbalancer *SentinelLoadbalancer `json:"loadbalancer,omitempty"`
	// PVC creates a volume.
	PVC *SentinelPVC `json:"pvc,omitempty"`
	// Raw creates an object.
	Raw *SentinelRaw `json:"raw,omitempty"`
}

// SentinelCoreDNS resolves names.
type SentinelCoreDNS struct {
	// DialFQDNs are the names to resolve.
	DialFQDNs []string `json:"dialFqdns,omitempty"`
	// Delay between two attempts.
	Delay *string `json:"delay,omitempty"`
	// Retries for each name.
	Retries *int64 `json:"retries,omitempty"`
}

// SentinelLoadbalancer creates a Service with an external address.
type SentinelLoadbalancer struct {
	// Namespace of the Service.
	Namespace string `json:"namespace"`
	// NamePrefix is the prefix of the Service's name.
	NamePrefix string `json:"namePrefix"`
	// Annotations of the Service.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of the Service.
	Labels map[string]string `json:"labels,omitempty"`
	// DNSProbe resolves the name of the Service.
	DNSProbe *SentinelDNSProbe `json:"dnsProbe,omitempty"`
}

// SentinelDNSProbe resolves a name.
type SentinelDNSProbe struct {
	// FQDN is the name to resolve.
	FQDN string `json:"fqdn"`
	// Delay between two attempts.
	Delay *string `json:"delay,omitempty"`
	// Retries for the name.
	Retries *int64 `json:"retries,omitempty"`
}

// SentinelPVC creates a volume.
type SentinelPVC struct {
	// NamePrefix is the prefix of the claim's name.
	NamePrefix string `json:"namePrefix"`
	// Size of the volume.
	Size string `json:"size"`
	// StorageClass of the volume.
	StorageClass string `json:"storageClass"`
}

// SentinelRaw creates an object.
type SentinelRaw struct {
	// YAML is the object.
	// +kubebuilder:pruning:PreserveUnknownFields
	YAML *runtime.RawExtension `json:"yaml"`
	// ExpectedResult of the creation.
	// +kubebuilder:validation:Enum=SUCCESS;FAILED
	ExpectedResult *string `json:"expectedResult,omitempty"`
}

// SentinelTrigger runs a Sentinel.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axsent
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Sentinel",type=string,JSONPath=`.spec.sentinelRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SentinelTrigger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec SentinelTriggerSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is checked: the hub has no sentinels yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// SentinelTriggerSpec says which Sentinel runs, and what is different in this
// run.
type SentinelTriggerSpec struct {
	// SentinelRef is the Sentinel.
	SentinelRef ObjectReference `json:"sentinelRef"`
	// Overrides of this run.
	Overrides *SentinelOverrides `json:"overrides,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// SentinelOverrides are settings of one run.
type SentinelOverrides struct {
	// Tags that a cluster must have in addition.
	Tags map[string]string `json:"tags,omitempty"`
}

// SentinelRunJob runs one check of a Sentinel. The agent creates it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axsenrj
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="JobStatus",type=string,JSONPath=`.status.jobStatus`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SentinelRunJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RunJobSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is checked: the hub has no sentinels yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status RunJobStatus `json:"status,omitempty"`
}
