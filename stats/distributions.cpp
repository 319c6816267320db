#include "stats/distributions.hpp"

#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace retrygate::stats {

double normal_sf(double z) { return boost::math::cdf(boost::math::complement(boost::math::normal(), z)); }
double normal_quantile(double p) { return boost::math::quantile(boost::math::normal(), p); }
double student_sf(double t, double dof) {
  return boost::math::cdf(boost::math::complement(boost::math::students_t(dof), t));
}
double student_quantile(double p, double dof) {
  return boost::math::quantile(boost::math::students_t(dof), p);
}
double student_upper_quantile(double q, double dof) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(dof), q));
}

double beta_upper(double q, double a, double b) {
  return boost::math::quantile(boost::math::complement(boost::math::beta_distribution<>(a, b), q));
}

}  // namespace retrygate::stats
