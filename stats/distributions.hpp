// Distributions as plain functions; Boost.Math stays behind this wall. Tails are computed as tails.
#pragma once

namespace retrygate::stats {

double normal_sf(double z);                           // P(Z > z)
double normal_quantile(double p);                     // 0 < p < 1
double student_sf(double t, double dof);              // P(T > t), dof > 0
double student_quantile(double p, double dof);        // 0 < p < 1, dof > 0
double student_upper_quantile(double q, double dof);  // t with P(T > t) = q, 0 < q < 1

double beta_upper(double q, double a, double b);  // the x with P(X > x) = q

}  // namespace retrygate::stats
