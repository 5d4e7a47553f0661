package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeploymentSettings are settings of the whole hub. Only the object
// global in the namespace plrl-deploy-operator is used.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axds
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DeploymentSettings struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DeploymentSettingsSpec `json:"spec,omitempty"`
	Status Status                 `json:"status,omitempty"`
}

// DeploymentSettingsSpec are the settings.
type DeploymentSettingsSpec struct {
	// AgentHelmValues are values for the chart of the agents. Does not act yet.
	// +kubebuilder:pruning:PreserveUnknownFields
	AgentHelmValues *runtime.RawExtension `json:"agentHelmValues,omitempty"`
	// AgentHelmValuesTemplateable renders agentHelmValues with Liquid. Does not act yet.
	AgentHelmValuesTemplateable *bool `json:"agentHelmValuesTemplateable,omitempty"`
	// ManagementRepo is the repository that configures the whole hub. Does not act yet.
	ManagementRepo *string `json:"managementRepo,omitempty"`
	// Stacks are settings of all stacks. Does not act yet.
	Stacks *StackSettings `json:"stacks,omitempty"`
	// Bindings of the whole hub.
	Bindings *Bindings `json:"bindings,omitempty"`
	// PrometheusConnection says where metrics are read. Does not act yet.
	PrometheusConnection *HTTPConnection `json:"prometheusConnection,omitempty"`
	// LokiConnection says where logs are read. Does not act yet.
	LokiConnection *HTTPConnection `json:"lokiConnection,omitempty"`
	// AI configures the use of AI models. Does not act yet.
	AI *AISettings `json:"ai,omitempty"`
	// Logging says where logs are read. Does not act yet.
	Logging *LoggingSettings `json:"logging,omitempty"`
	// Cost are settings of cost recommendations. Does not act yet.
	Cost *CostSettings `json:"cost,omitempty"`
	// Metrics says where metrics are sent. Does not act yet.
	Metrics *MetricsSettings `json:"metrics,omitempty"`
	// DeploymentRepositoryRef is a GitRepository with the platform's own services. Does not act yet.
	DeploymentRepositoryRef *NamespacedName `json:"deploymentRepositoryRef,omitempty"`
	// ScaffoldsRepositoryRef is a GitRepository with templates. Does not act yet.
	ScaffoldsRepositoryRef *NamespacedName `json:"scaffoldsRepositoryRef,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// StackSettings are settings of all stacks.
type StackSettings struct {
	// JobSpec changes the Jobs of runs.
	JobSpec *JobSpec `json:"jobSpec,omitempty"`
	// ConnectionRef is the ScmConnection that comments on pull requests.
	ConnectionRef *ObjectReference `json:"connectionRef,omitempty"`
}

// HTTPConnection is an HTTP service.
type HTTPConnection struct {
	// Host is the URL of the service.
	Host string `json:"host"`
	// User to log in with.
	User *string `json:"user,omitempty"`
	// Password in plain text; prefer passwordSecretRef.
	Password *string `json:"password,omitempty"`
	// PasswordSecretRef is a Secret's key that holds the password.
	PasswordSecretRef *KeySelector `json:"passwordSecretRef,omitempty"`
}

// LoggingSettings say where logs are read.
type LoggingSettings struct {
	// Enabled turns it on.
	Enabled *bool `json:"enabled,omitempty"`
	// Driver selects the field that is used.
	// +kubebuilder:validation:Enum=VICTORIA;ELASTIC;OPENSEARCH
	// +kubebuilder:default=VICTORIA
	Driver *string `json:"driver,omitempty"`
	// Victoria configures VictoriaLogs.
	Victoria *HTTPConnection `json:"victoria,omitempty"`
	// Elastic configures Elasticsearch.
	Elastic *ElasticsearchConnection `json:"elastic,omitempty"`
	// Opensearch configures OpenSearch.
	Opensearch *OpensearchConnection `json:"opensearch,omitempty"`
}

// ElasticsearchConnection is an Elasticsearch index.
type ElasticsearchConnection struct {
	// Host is the URL of Elasticsearch.
	Host string `json:"host"`
	// Index is the name of the index.
	Index *string `json:"index,omitempty"`
	// User to log in with.
	User *string `json:"user,omitempty"`
	// PasswordSecretRef is a Secret's key that holds the password.
	PasswordSecretRef *KeySelector `json:"passwordSecretRef,omitempty"`
}

// OpensearchConnection is an OpenSearch index.
type OpensearchConnection struct {
	// Host is the URL of OpenSearch.
	Host string `json:"host"`
	// Index is the name of the index.
	Index *string `json:"index,omitempty"`
	// AWSAccessKeyID is the ID of an access key; unset is the pod's role.
	AWSAccessKeyID *string `json:"awsAccessKeyId,omitempty"`
	// AWSSecretAccessKeySecretRef is a Secret's key that holds the secret access
	// key.
	AWSSecretAccessKeySecretRef *KeySelector `json:"awsSecretAccessKeySecretRef,omitempty"`
	// AWSRegion of the cluster of OpenSearch.
	AWSRegion *string `json:"awsRegion,omitempty"`
	// UsePodIdentity logs in with the identity of the pod.
	UsePodIdentity *bool `json:"usePodIdentity,omitempty"`
}

// CostSettings are settings of cost recommendations.
type CostSettings struct {
	// RecommendationCushion is added to the measured usage, in percent.
	RecommendationCushion *int64 `json:"recommendationCushion,omitempty"`
	// RecommendationThreshold is the lowest monthly cost that leads to a
	// recommendation.
	RecommendationThreshold *int64 `json:"recommendationThreshold,omitempty"`
}

// MetricsSettings say where metrics are sent.
type MetricsSettings struct {
	// Enabled turns it on.
	// +kubebuilder:default=false
	Enabled *bool `json:"enabled,omitempty"`
	// Endpoint of an OpenTelemetry collector.
	Endpoint *string `json:"endpoint,omitempty"`
	// Crontab says when they are sent: a cron expression with five fields.
	Crontab *string `json:"crontab,omitempty"`
}
